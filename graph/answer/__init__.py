"""Code around the model's answer: wording, correcting, saving, document search and reading ahead."""
