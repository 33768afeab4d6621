"""What a node knows of images: which cannot be pulled, and which commands the small ones do not have."""

from typing import Any

Obj = dict[str, Any]

# Names that people give to an image that is not to exist; a rule or a plan may say the same of any other.
_MISSING_MARKS = ("no-such", "does-not-exist", "doesnotexist", "nonexistent", "non-existent", "not-found", "notfound")
_SMALL_IMAGES = ("busybox", "alpine")
_PROGRAM_PLACES = ("/bin/", "/sbin/", "/usr/", "/opt/", "/mnt/", "/etc/")
_PROGRAMS = frozenset(
    {
        "sh",
        "ash",
        "sleep",
        "true",
        "false",
        "echo",
        "printf",
        "cat",
        "tail",
        "head",
        "env",
        "ls",
        "date",
        "hostname",
        "id",
        "kill",
        "nc",
        "wget",
        "dd",
        "yes",
        "seq",
        "sync",
        "timeout",
        "tar",
        "gzip",
        "mkdir",
        "rm",
        "cp",
        "mv",
        "touch",
        "test",
        "[",
        "awk",
        "sed",
        "grep",
        "sort",
        "uniq",
        "wc",
        "xargs",
        "find",
        "stat",
        "top",
        "ps",
        "free",
    }
)
_NO_RESOLVER = "dial tcp: lookup registry-1.docker.io on 10.255.255.53:53: no such host"


def pull_error(image: str) -> str:
    """The runtime's words when an image cannot be pulled; "" for one that can."""
    if not any(mark in image.lower() for mark in _MISSING_MARKS):
        return ""
    return missing_image_text(image)


def missing_image_text(image: str) -> str:
    name, _, tag = image.rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "latest")
    full = name if "/" in name else f"library/{name}"
    reference = f"docker.io/{full}:{tag}"
    url = f"https://registry-1.docker.io/v2/{full}/manifests/{tag}"
    return (
        f'failed to pull and unpack image "{reference}": failed to resolve reference "{reference}": '
        f'failed to do request: Head "{url}": {_NO_RESOLVER}'
    )


def start_error(container: Obj) -> str:
    """The runtime's words when a container's command does not exist in its image; "" if it does or nobody knows."""
    command = container.get("command") or []
    image = str(container.get("image") or "").rpartition("/")[2].partition(":")[0].partition("@")[0]
    if not command or image not in _SMALL_IMAGES:
        return ""
    program = str(command[0])
    if program.startswith("/"):
        if program.startswith(_PROGRAM_PLACES):
            return ""
        return missing_program_text(program)
    return "" if program in _PROGRAMS else missing_program_text(program)


def missing_program_text(program: str) -> str:
    detail = f"stat {program}: no such file or directory" if "/" in program else "executable file not found in $PATH"
    return (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
        f'unable to start container process: exec: "{program}": {detail}: unknown'
    )
