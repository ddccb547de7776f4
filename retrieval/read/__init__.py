"""Reading documents: from files and web pages to passages, in a process with limits."""
