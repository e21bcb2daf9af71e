// Empty: a package with a bodyless function needs an assembly file.
