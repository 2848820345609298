"""The things that a staged function sees: its steps hold as long as all of them are as they were."""
