"""What tests start: servers, browsers, processes."""
