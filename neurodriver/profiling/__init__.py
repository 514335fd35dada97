"""Where the time of a run goes: phases, models, bytes moved; as a table and as a trace."""
