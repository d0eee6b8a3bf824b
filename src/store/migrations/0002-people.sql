-- Who may come in.  A session holds no secret: its token is its number under a key.

CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    password TEXT,
    display_name TEXT,
    is_admin BOOLEAN NOT NULL,
    is_active BOOLEAN NOT NULL,
    is_remote BOOLEAN NOT NULL,
    modified_us INTEGER NOT NULL,
    last_auth_us INTEGER NOT NULL
);

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    user_id INTEGER NOT NULL,
    created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id);
