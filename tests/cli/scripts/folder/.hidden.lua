error "a hidden file is not looked at"
