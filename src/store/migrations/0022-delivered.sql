-- The credential of a supervisor ends when everything of its run is delivered.  It reports the
-- exit last, and the mark of the exit is kept: so this is known of earlier runs, too.
UPDATE shares SET is_delivered = TRUE WHERE EXISTS
    (SELECT 1 FROM allocations a JOIN marks m
      ON m.sender = 'exit ' || a.name || '/' || CAST(shares.rank AS TEXT)
     WHERE a.id = shares.allocation_id);
