CREATE TABLE attachment (
    session_id VARCHAR(64) NOT NULL,
    name TEXT NOT NULL,
    "key" VARCHAR(64) NOT NULL,
    message INTEGER,
    PRIMARY KEY (session_id, name)
);

CREATE INDEX attachment_by_key ON attachment ("key");

CREATE TABLE branch (
    session_id VARCHAR(64) NOT NULL,
    id INTEGER NOT NULL,
    path TEXT NOT NULL,
    used FLOAT NOT NULL,
    PRIMARY KEY (session_id, id)
);

CREATE TABLE folder (
    id VARCHAR(64) NOT NULL,
    name TEXT NOT NULL,
    created FLOAT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE outbox (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session_id VARCHAR(64) NOT NULL,
    text TEXT NOT NULL,
    turn INTEGER NOT NULL,
    created FLOAT NOT NULL
);

CREATE TABLE partial (
    session_id VARCHAR(64) NOT NULL,
    branch INTEGER NOT NULL,
    number INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (session_id)
);

CREATE TABLE preset (
    name VARCHAR(100) NOT NULL,
    system_prompt TEXT NOT NULL,
    temperature FLOAT,
    answer_tokens INTEGER,
    PRIMARY KEY (name)
);

CREATE TABLE session (
    id VARCHAR(64) NOT NULL,
    title TEXT NOT NULL,
    titled VARCHAR(8) NOT NULL,
    language VARCHAR(8) NOT NULL,
    compression_rate FLOAT NOT NULL,
    path TEXT NOT NULL,
    turn_count INTEGER NOT NULL,
    history_tokens INTEGER NOT NULL,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    pinned BOOLEAN NOT NULL,
    deleted FLOAT,
    revision INTEGER NOT NULL,
    collections TEXT,
    folder VARCHAR(64) DEFAULT '' NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX session_folder ON session (folder, pinned DESC, updated DESC, id) WHERE deleted IS NULL AND turn_count > 0;

CREATE INDEX session_list ON session (pinned DESC, updated DESC, id) WHERE deleted IS NULL AND turn_count > 0;

CREATE INDEX session_put_away ON session (deleted) WHERE deleted IS NOT NULL;

CREATE TABLE session_options (
    session_id VARCHAR(64) NOT NULL,
    system_prompt TEXT NOT NULL,
    temperature FLOAT,
    answer_tokens INTEGER,
    PRIMARY KEY (session_id)
);

CREATE TABLE session_prompt (
    session_id VARCHAR(64) NOT NULL,
    mark VARCHAR(16) NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (session_id, mark)
);

CREATE TABLE summary (
    id INTEGER NOT NULL,
    session_id VARCHAR(64) NOT NULL,
    branch INTEGER NOT NULL,
    first_turn INTEGER NOT NULL,
    last_turn INTEGER NOT NULL,
    version INTEGER NOT NULL,
    record TEXT,
    status VARCHAR(16) NOT NULL,
    origin VARCHAR(16) NOT NULL,
    ahead BOOLEAN NOT NULL,
    model VARCHAR(200),
    prompt_tokens INTEGER NOT NULL,
    answer_tokens INTEGER NOT NULL,
    seconds FLOAT NOT NULL,
    kept TEXT,
    lost TEXT,
    error TEXT,
    turns TEXT NOT NULL,
    rate FLOAT NOT NULL,
    created FLOAT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (session_id, branch, first_turn, version)
);

CREATE TABLE turn (
    id INTEGER NOT NULL,
    session_id VARCHAR(64) NOT NULL,
    branch INTEGER NOT NULL,
    number INTEGER NOT NULL,
    question TEXT NOT NULL,
    answer TEXT,
    status VARCHAR(16) NOT NULL,
    messages TEXT,
    error TEXT,
    steps TEXT,
    report TEXT,
    usage TEXT,
    feedback TEXT,
    tokens INTEGER NOT NULL,
    started FLOAT NOT NULL,
    finished FLOAT,
    seconds FLOAT,
    first_token_seconds FLOAT,
    files TEXT,
    PRIMARY KEY (id),
    UNIQUE (session_id, branch, number)
);

CREATE TABLE turn_index (
    session_id VARCHAR(64) NOT NULL,
    branch INTEGER NOT NULL,
    number INTEGER NOT NULL,
    made_by VARCHAR(200) NOT NULL,
    vector BLOB NOT NULL,
    words BLOB NOT NULL,
    PRIMARY KEY (session_id, branch, number, made_by)
);

CREATE TABLE wording (
    mark VARCHAR(16) NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (mark)
);
