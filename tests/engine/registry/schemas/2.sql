-- The registry of schema 2, as the tables of commit a2efb08 make it, with rows.
BEGIN TRANSACTION;
CREATE TABLE assets (
    iri TEXT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    registered_at VARCHAR(40) NOT NULL,
    PRIMARY KEY (iri)
);
INSERT INTO "assets" VALUES('http://example.com/asset/1','table','2026-11-21T12:00:01.000000+00:00');
INSERT INTO "assets" VALUES('http://example.com/asset/2','table','2026-11-22T12:00:02.000000+00:00');
CREATE TABLE changes (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind VARCHAR(16) NOT NULL,
    subject TEXT NOT NULL,
    token VARCHAR(32) NOT NULL
);
INSERT INTO "changes" VALUES(1,'table','subject 1','token 1');
INSERT INTO "changes" VALUES(2,'table','subject 2','token 2');
CREATE TABLE documents (
    digest VARCHAR(80) NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (digest)
);
INSERT INTO "documents" VALUES('sha256:1',X'62797465732031');
INSERT INTO "documents" VALUES('sha256:2',X'62797465732032');
CREATE TABLE hierarchies (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    digest VARCHAR(80) NOT NULL,
    party TEXT NOT NULL,
    added_at VARCHAR(40) NOT NULL,
    removed_at VARCHAR(40),
    PRIMARY KEY (id),
    UNIQUE (name, number),
    FOREIGN KEY(digest) REFERENCES documents (digest)
);
INSERT INTO "hierarchies" VALUES(1,'name 1',1,'sha256:1','http://example.com/party/1','2026-11-21T12:00:01.000000+00:00','2026-11-21T12:00:01.000000+00:00');
INSERT INTO "hierarchies" VALUES(2,'name 2',2,'sha256:2','http://example.com/party/2','2026-11-22T12:00:02.000000+00:00',NULL);
CREATE TABLE intents (
    run VARCHAR(36) NOT NULL,
    stage TEXT NOT NULL,
    out TEXT NOT NULL,
    record TEXT NOT NULL,
    document BLOB NOT NULL,
    created_at VARCHAR(40) NOT NULL,
    PRIMARY KEY (run)
);
INSERT INTO "intents" VALUES('run 1','stage 1','out 1','{}',X'62797465732031','2026-11-21T12:00:01.000000+00:00');
INSERT INTO "intents" VALUES('run 2','stage 2','out 2','{}',X'62797465732032','2026-11-22T12:00:02.000000+00:00');
CREATE TABLE keys (
    id INTEGER NOT NULL,
    thumbprint VARCHAR(80) NOT NULL,
    owner TEXT NOT NULL,
    pem TEXT NOT NULL,
    trusted_at VARCHAR(40) NOT NULL,
    revoked_at VARCHAR(40),
    PRIMARY KEY (id)
);
INSERT INTO "keys" VALUES(1,'thumbprint 1','http://example.com/party/1','pem 1','2026-11-21T12:00:01.000000+00:00','2026-11-21T12:00:01.000000+00:00');
INSERT INTO "keys" VALUES(2,'thumbprint 2','http://example.com/party/2','pem 2','2026-11-22T12:00:02.000000+00:00',NULL);
CREATE TABLE lineage (
    version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    input TEXT NOT NULL,
    input_version INTEGER,
    PRIMARY KEY (version, position),
    FOREIGN KEY(version) REFERENCES versions (id),
    FOREIGN KEY(input) REFERENCES assets (iri)
);
INSERT INTO "lineage" VALUES(1,1,'http://example.com/asset/1',1);
INSERT INTO "lineage" VALUES(2,2,'http://example.com/asset/2',NULL);
CREATE TABLE owners (
    iri TEXT NOT NULL,
    party TEXT NOT NULL,
    PRIMARY KEY (iri, party),
    FOREIGN KEY(iri) REFERENCES assets (iri)
);
INSERT INTO "owners" VALUES('http://example.com/asset/1','http://example.com/party/1');
INSERT INTO "owners" VALUES('http://example.com/asset/2','http://example.com/party/2');
CREATE TABLE policies (
    id INTEGER NOT NULL,
    uid TEXT NOT NULL,
    digest VARCHAR(80) NOT NULL,
    name TEXT NOT NULL,
    issuer TEXT NOT NULL,
    added_at VARCHAR(40) NOT NULL,
    revoked_at VARCHAR(40),
    PRIMARY KEY (id),
    FOREIGN KEY(digest) REFERENCES documents (digest)
);
INSERT INTO "policies" VALUES(1,'uid 1','sha256:1','name 1','http://example.com/party/1','2026-11-21T12:00:01.000000+00:00','2026-11-21T12:00:01.000000+00:00');
INSERT INTO "policies" VALUES(2,'uid 2','sha256:2','name 2','http://example.com/party/2','2026-11-22T12:00:02.000000+00:00',NULL);
CREATE TABLE policy_iris (
    policy INTEGER NOT NULL,
    iri TEXT NOT NULL,
    PRIMARY KEY (policy, iri),
    FOREIGN KEY(policy) REFERENCES policies (id)
);
INSERT INTO "policy_iris" VALUES(1,'http://example.com/asset/1');
INSERT INTO "policy_iris" VALUES(2,'http://example.com/asset/2');
CREATE TABLE policy_parents (
    policy INTEGER NOT NULL,
    uid TEXT NOT NULL,
    parent INTEGER NOT NULL,
    PRIMARY KEY (policy, uid),
    FOREIGN KEY(policy) REFERENCES policies (id),
    FOREIGN KEY(parent) REFERENCES policies (id)
);
INSERT INTO "policy_parents" VALUES(1,'uid 1',1);
INSERT INTO "policy_parents" VALUES(2,'uid 2',2);
CREATE TABLE policy_signatures (
    policy INTEGER NOT NULL,
    "key" VARCHAR(80) NOT NULL,
    signature TEXT NOT NULL,
    PRIMARY KEY (policy),
    FOREIGN KEY(policy) REFERENCES policies (id)
);
INSERT INTO "policy_signatures" VALUES(1,'key 1','signature 1');
INSERT INTO "policy_signatures" VALUES(2,'key 2','signature 2');
CREATE TABLE policy_targets (
    policy INTEGER NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (policy, target),
    FOREIGN KEY(policy) REFERENCES policies (id)
);
INSERT INTO "policy_targets" VALUES(1,'http://example.com/asset/1');
INSERT INTO "policy_targets" VALUES(2,'http://example.com/asset/2');
CREATE TABLE policy_uids (
    policy INTEGER NOT NULL,
    uid TEXT NOT NULL,
    PRIMARY KEY (policy, uid),
    FOREIGN KEY(policy) REFERENCES policies (id)
);
INSERT INTO "policy_uids" VALUES(1,'uid 1');
INSERT INTO "policy_uids" VALUES(2,'uid 2');
CREATE TABLE smalti_meta (
    "key" VARCHAR(64) NOT NULL,
    value VARCHAR(255) NOT NULL,
    PRIMARY KEY ("key")
);
INSERT INTO "smalti_meta" VALUES('schema','2');
CREATE TABLE versions (
    id INTEGER NOT NULL,
    target TEXT NOT NULL,
    number INTEGER NOT NULL,
    run VARCHAR(36) NOT NULL,
    path TEXT NOT NULL,
    format VARCHAR(16) NOT NULL,
    output_digest VARCHAR(80) NOT NULL,
    "plan" TEXT NOT NULL,
    plan_digest VARCHAR(80) NOT NULL,
    policy_digest VARCHAR(80) NOT NULL,
    policy_uid TEXT NOT NULL,
    rule_uid TEXT NOT NULL,
    party TEXT NOT NULL,
    purpose TEXT,
    created_at VARCHAR(40) NOT NULL,
    certificate TEXT NOT NULL,
    report TEXT NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (target, number),
    FOREIGN KEY(target) REFERENCES assets (iri),
    UNIQUE (run),
    FOREIGN KEY(policy_digest) REFERENCES documents (digest)
);
INSERT INTO "versions" VALUES(1,'http://example.com/asset/1',1,'run 1','path 1','format 1','output_digest 1','plan 1','plan_digest 1','sha256:1','policy_uid 1','rule_uid 1','http://example.com/party/1','purpose 1','2026-11-21T12:00:01.000000+00:00','{}','{"inputs": [{"hmac": "hmac-sha256:1"}]}','{}');
INSERT INTO "versions" VALUES(2,'http://example.com/asset/2',2,'run 2','path 2','format 2','output_digest 2','plan 2','plan_digest 2','sha256:2','policy_uid 2','rule_uid 2','http://example.com/party/2',NULL,'2026-11-22T12:00:02.000000+00:00','{}','{"inputs": [{"hmac": "hmac-sha256:2"}]}','{}');
CREATE TABLE withdrawals (
    target TEXT NOT NULL,
    hmac VARCHAR(80) NOT NULL,
    respondent TEXT NOT NULL,
    is_first INTEGER NOT NULL,
    withdrawn_at VARCHAR(40) NOT NULL,
    PRIMARY KEY (target, hmac),
    FOREIGN KEY(target) REFERENCES assets (iri)
);
INSERT INTO "withdrawals" VALUES('http://example.com/asset/1','hmac 1','respondent 1',1,'2026-11-21T12:00:01.000000+00:00');
INSERT INTO "withdrawals" VALUES('http://example.com/asset/2','hmac 2','respondent 2',2,'2026-11-22T12:00:02.000000+00:00');
CREATE INDEX ix_keys_owner ON keys (owner);
CREATE INDEX ix_keys_thumbprint ON keys (thumbprint);
CREATE INDEX ix_policies_uid ON policies (uid);
CREATE INDEX ix_policies_digest ON policies (digest);
CREATE INDEX ix_hierarchies_name ON hierarchies (name);
CREATE INDEX ix_withdrawals_withdrawn_at ON withdrawals (withdrawn_at);
CREATE INDEX ix_policy_targets_target ON policy_targets (target);
CREATE INDEX ix_policy_iris_iri ON policy_iris (iri);
CREATE INDEX ix_policy_parents_parent ON policy_parents (parent);
CREATE INDEX ix_policy_signatures_key ON policy_signatures ("key");
CREATE INDEX ix_policy_uids_uid ON policy_uids (uid);
CREATE INDEX ix_lineage_input ON lineage (input);
COMMIT;
