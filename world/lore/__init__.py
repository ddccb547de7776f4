"""The dynamic lorebook (specification 12.9): which entries a prompt gets, with a reason for every entry."""
