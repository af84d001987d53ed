"""What every floor stands on: errors, protocols, checks, the jit policy, progress events."""
