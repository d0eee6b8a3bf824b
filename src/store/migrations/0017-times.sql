-- A chunk's to_us is the latest time of all lines up to its last, not only of its own: a
-- running maximum, so that a time is found by halving (store/log/log_seek.c).
UPDATE log_chunks SET to_us = high.up_to
    FROM (SELECT id, to_us AS own, MAX(to_us) OVER (PARTITION BY id >> 38 ORDER BY id) AS up_to
            FROM log_chunks) AS high
    WHERE high.id = log_chunks.id AND high.up_to > high.own;
