-- +goose Up

-- Uploaded documents that are sent to the carrier of their shipment. A row is written with
-- the upload, so a document is queued or it is only kept; a job sends it, and an outcome
-- that is not known is looked up or left to a person. The files are in documents, from
-- position 100 on.
CREATE TABLE document_submissions (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  id uuid NOT NULL,
  shipment_id uuid NOT NULL,
  position smallint NOT NULL, -- among the uploads of the shipment, from 0
  type text NOT NULL,
  carrier text NOT NULL,
  connection_id uuid, -- null for a simulated carrier
  state text NOT NULL DEFAULT 'queued'
    CHECK (state IN ('queued', 'pending', 'uncertain', 'succeeded', 'failed', 'needs_review')),
  attempt smallint NOT NULL DEFAULT 0,
  attempt_started_at timestamptz NOT NULL DEFAULT now(), -- of a queued one: when it was added
  missed_at timestamptz, -- when a look-up did not find it, since the attempt
  receipt text, -- the carrier's number of the document
  error_code text,
  error_message text,
  PRIMARY KEY (account_id, livemode, id)
);
CREATE UNIQUE INDEX document_submissions_of_shipment ON document_submissions (account_id, livemode, shipment_id, position);
CREATE INDEX document_submissions_open ON document_submissions (id) WHERE state IN ('queued', 'pending', 'uncertain');
SELECT secure_table('document_submissions', 'tenant', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT, UPDATE, DELETE');
