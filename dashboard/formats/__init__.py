"""What Django's own formats of a language lack, in folders named after the language."""
