"""The dynamic lorebook (specification 7 of the world): which entries a prompt gets, with a reason for every entry."""
