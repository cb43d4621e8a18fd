"""What `grasp doctor` looks at: one file a subject, each a generator of findings."""
