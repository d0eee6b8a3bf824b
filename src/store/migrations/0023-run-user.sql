-- The Unix identity of a run, as it was sent to the agents (JSON): its files are removed with
-- it, whatever links and configuration say later.  "": the agents' own; NULL: not noted.
ALTER TABLE allocations ADD COLUMN run_user TEXT;
