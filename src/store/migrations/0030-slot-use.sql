-- Who used which slots, beyond the life of an experiment: a row for each allocation of a trial that was
-- deleted.  The slots of all others are in `allocations`.
CREATE TABLE past_allocations (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    owner_id BIGINT NOT NULL,
    workspace TEXT NOT NULL,
    experiment_id BIGINT NOT NULL,
    experiment TEXT NOT NULL,
    labels TEXT NOT NULL,
    resource_pool TEXT NOT NULL,
    slots BIGINT NOT NULL,
    start_us BIGINT NOT NULL,
    end_us BIGINT NOT NULL
);
-- The load of the machines of each trial, as supervisors measure it: the means of a while as JSON, in
-- the groups of the profiler.  Old ones are thinned out: a trial has a bounded number on each agent.
CREATE TABLE trial_loads (
    trial_id BIGINT NOT NULL,
    agent TEXT NOT NULL,
    time_us BIGINT NOT NULL,
    load TEXT NOT NULL,
    PRIMARY KEY (trial_id, agent, time_us)
);
