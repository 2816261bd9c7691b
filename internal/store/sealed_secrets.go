package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Stored secrets that a seal.Box encrypts, and which key each is under. The first
// bytes of such a secret identify its key.

// A SealedTable is a table with sealed secrets. Each kind has a statement that
// reads rows with secrets under other keys than the present one, and a statement
// that replaces the secrets of a row unless somebody changed them meanwhile.
type SealedTable struct {
	Title   string // for people
	read    string
	replace string
	page    int // rows that are read at once, and written in one transaction
}

// The tables with sealed secrets. The data keys of connections are wrapped, not
// sealed, and are changed by RewrapConnections.
var (
	SealedEndpoints = SealedTable{"webhook secrets and headers", sqlSealedEndpoints, sqlResealEndpoint, resealPage}
	SealedSeeds     = SealedTable{"authenticator seeds", sqlSealedSeeds, sqlResealSeed, resealPage}
	SealedFlows     = SealedTable{"authenticators being set up", sqlSealedFlows, sqlResealFlow, resealPage}
	SealedAnswers   = SealedTable{"answers kept for idempotency keys", sqlSealedAnswers, sqlResealAnswer, resealPage}
	SealedErasures  = SealedTable{"subjects of erasures", sqlSealedErasures, sqlResealErasure, resealPage}
	SealedExports   = SealedTable{"exports of personal data", sqlSealedExports, sqlResealExport, resealFilePage}
	SealedPlugins   = SealedTable{"secrets of carrier plug-ins", sqlSealedPlugins, sqlResealPlugin, resealPage}
	SealedSigning   = SealedTable{"the signing key", sqlSealedSigning, sqlResealSigning, resealPage}
	SealedMissing   = SealedTable{"purchases that a restore lost", sqlSealedMissing, sqlResealMissing, resealPage}
)

// How many rows are read at once, and written in one transaction. A file of an
// export has some megabytes.
const (
	resealPage     = 200
	resealFilePage = 2
)

// A SealedRow is a row with sealed secrets.
type SealedRow struct {
	Tenant  ship.Tenant // zero for those of people
	ID      ship.RawID  // of the endpoint, person, erasure or export
	Key     string      // of the answer; the name of the plug-in
	Secrets [][]byte    // nil for those that the row does not have

	place string // where it is in the order of reading
}

const sqlSealedEndpoints = `
SELECT account_id, livemode, id, '', ARRAY[encrypted_secret, encrypted_previous_secret, encrypted_headers], id::text
FROM webhook_endpoints
WHERE id::text > @after
  AND (substring(encrypted_secret FOR 5) <> @present
    OR substring(encrypted_previous_secret FOR 5) <> @present
    OR substring(encrypted_headers FOR 5) <> @present)
ORDER BY id::text
LIMIT @limit`

// sqlResealEndpoint does not count as a change: what the endpoint is sent stays
// the same.
const sqlResealEndpoint = `
UPDATE webhook_endpoints SET
  encrypted_secret = (@to::bytea[])[1],
  encrypted_previous_secret = (@to::bytea[])[2],
  encrypted_headers = (@to::bytea[])[3]
WHERE account_id = @account AND livemode = @livemode AND id = @id
  AND ARRAY[encrypted_secret, encrypted_previous_secret, encrypted_headers] = @from::bytea[]`

const sqlSealedSeeds = `
SELECT NULL::uuid, false, id, '', ARRAY[encrypted_totp_seed], id::text
FROM people
WHERE id::text > @after AND substring(encrypted_totp_seed FOR 5) <> @present
ORDER BY id::text
LIMIT @limit`

const sqlResealSeed = `
UPDATE people SET encrypted_totp_seed = (@to::bytea[])[1]
WHERE id = @id AND encrypted_totp_seed = (@from::bytea[])[1]`

const sqlSealedFlows = `
SELECT NULL::uuid, false, person_id, '', ARRAY[data], encode(token_hash, 'hex')
FROM auth_flows
WHERE kind = 'totp' AND encode(token_hash, 'hex') > @after AND substring(data FOR 5) <> @present
ORDER BY encode(token_hash, 'hex')
LIMIT @limit`

const sqlResealFlow = `
UPDATE auth_flows SET data = (@to::bytea[])[1]
WHERE token_hash = decode(@place, 'hex') AND data = (@from::bytea[])[1]`

// sqlSealedAnswers reads the answers that hold a secret. Other answers are JSON,
// whose first byte is no version of a seal.
const sqlSealedAnswers = `
SELECT account_id, livemode, NULL::uuid, key, ARRAY[response_body], account_id::text || livemode::text || key
FROM idempotency_keys
WHERE shipment_id IS NULL AND account_id::text || livemode::text || key > @after
  AND substring(response_body FOR 1) = '\x01' AND substring(response_body FOR 5) <> @present
ORDER BY account_id::text || livemode::text || key
LIMIT @limit`

const sqlResealAnswer = `
UPDATE idempotency_keys SET response_body = (@to::bytea[])[1]
WHERE account_id = @account AND livemode = @livemode AND key = @key
  AND response_body = (@from::bytea[])[1]`

const sqlSealedErasures = `
SELECT account_id, livemode, id, '', ARRAY[encrypted_subject], account_id::text || livemode::text || id::text
FROM erasures
WHERE account_id::text || livemode::text || id::text > @after AND substring(encrypted_subject FOR 5) <> @present
ORDER BY account_id::text || livemode::text || id::text
LIMIT @limit`

const sqlResealErasure = `
UPDATE erasures SET encrypted_subject = (@to::bytea[])[1]
WHERE account_id = @account AND livemode = @livemode AND id = @id
  AND encrypted_subject = (@from::bytea[])[1]`

const sqlSealedExports = `
SELECT account_id, livemode, id, '', ARRAY[encrypted_subject, encrypted_file], account_id::text || livemode::text || id::text
FROM exports
WHERE account_id::text || livemode::text || id::text > @after
  AND (substring(encrypted_subject FOR 5) <> @present OR substring(encrypted_file FOR 5) <> @present)
ORDER BY account_id::text || livemode::text || id::text
LIMIT @limit`

const sqlResealExport = `
UPDATE exports SET encrypted_subject = (@to::bytea[])[1], encrypted_file = (@to::bytea[])[2]
WHERE account_id = @account AND livemode = @livemode AND id = @id
  AND ARRAY[encrypted_subject, encrypted_file] = @from::bytea[]`

const sqlSealedPlugins = `
SELECT NULL::uuid, false, NULL::uuid, name, ARRAY[encrypted_secret], name
FROM carrier_plugins
WHERE name > @after AND substring(encrypted_secret FOR 5) <> @present
ORDER BY name
LIMIT @limit`

const sqlResealPlugin = `
UPDATE carrier_plugins SET encrypted_secret = (@to::bytea[])[1]
WHERE name = @key AND encrypted_secret = (@from::bytea[])[1]`

const sqlSealedSigning = `
SELECT NULL::uuid, false, NULL::uuid, '', ARRAY[sealed_signing_key], '1'
FROM instance
WHERE '1' > @after AND substring(sealed_signing_key FOR 5) <> @present
LIMIT @limit`

const sqlResealSigning = `
UPDATE instance SET sealed_signing_key = (@to::bytea[])[1]
WHERE sealed_signing_key = (@from::bytea[])[1]`

const sqlSealedMissing = `
SELECT account_id, livemode, shipment_id, '', ARRAY[encrypted_entry], account_id::text || livemode::text || shipment_id::text
FROM missing_purchases
WHERE account_id::text || livemode::text || shipment_id::text > @after AND substring(encrypted_entry FOR 5) <> @present
ORDER BY account_id::text || livemode::text || shipment_id::text
LIMIT @limit`

const sqlResealMissing = `
UPDATE missing_purchases SET encrypted_entry = (@to::bytea[])[1]
WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id
  AND encrypted_entry = (@from::bytea[])[1]`

// ResealRows gives each row with a secret that is not under the present key to
// reseal, and stores the secrets that it returns; nil leaves a row as it is. The
// present key is identified by the header of its secrets. A row that somebody else
// changes meanwhile is left to them. A caller that is interrupted can begin again:
// rows that are done are not read.
func (s *Store) ResealRows(ctx context.Context, table SealedTable, present []byte, reseal func(SealedRow) [][]byte) error {
	after := ""
	for {
		rows, err := selectList(ctx, s.sys, scanSealedRow, table.read, pgx.NamedArgs{
			"after":   after,
			"present": present,
			"limit":   table.page,
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", table.Title, err)
		}
		if len(rows) == 0 {
			return nil
		}

		batch := &pgx.Batch{}
		for _, row := range rows {
			if resealed := reseal(row); resealed != nil {
				batch.Queue(table.replace, pgx.NamedArgs{
					"account":  row.Tenant.Account,
					"livemode": row.Tenant.Livemode,
					"id":       row.ID,
					"key":      row.Key,
					"place":    row.place,
					"from":     row.Secrets,
					"to":       resealed,
				})
			}
		}
		if err := s.sys.SendBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("store %s: %w", table.Title, explain(err))
		}
		after = rows[len(rows)-1].place
	}
}

func scanSealedRow(r pgx.CollectableRow) (row SealedRow, err error) {
	var id *[16]byte
	err = r.Scan(&row.Tenant.Account, &row.Tenant.Livemode, &id, &row.Key, &row.Secrets, &row.place)
	row.ID = value(id)
	return row, err
}

// sqlSecretKeys counts stored secrets by what they are and by key header.
const sqlSecretKeys = `
SELECT title, substring(secret FOR 5), count(*)
FROM (
  SELECT @credentials AS title, wrapped_key AS secret FROM connections
  UNION ALL
  SELECT @endpoints, unnest(ARRAY[encrypted_secret, encrypted_previous_secret, encrypted_headers]) FROM webhook_endpoints
  UNION ALL
  SELECT @seeds, encrypted_totp_seed FROM people
  UNION ALL
  SELECT @flows, data FROM auth_flows WHERE kind = 'totp'
  UNION ALL
  SELECT @answers, response_body FROM idempotency_keys WHERE shipment_id IS NULL AND substring(response_body FOR 1) = '\x01'
  UNION ALL
  SELECT @erasures, encrypted_subject FROM erasures
  UNION ALL
  SELECT @exports, unnest(ARRAY[encrypted_subject, encrypted_file]) FROM exports
  UNION ALL
  SELECT @plugins, encrypted_secret FROM carrier_plugins
  UNION ALL
  SELECT @signing, sealed_signing_key FROM instance
  UNION ALL
  SELECT @missing, encrypted_entry FROM missing_purchases) secrets
WHERE secret IS NOT NULL
GROUP BY 1, 2
ORDER BY 1, 2`

// WrappedCredentials is the title of the data keys of connections.
const WrappedCredentials = "carrier credentials"

// SecretCount is how many stored secrets of a kind are under one key.
type SecretCount struct {
	Title  string
	Header []byte // identifies the key
	Count  int
}

// CountSecrets counts the stored secrets of all accounts by their keys.
func (s *Store) CountSecrets(ctx context.Context) ([]SecretCount, error) {
	return selectList(ctx, s.sys, pgx.RowToStructByPos[SecretCount], sqlSecretKeys, pgx.NamedArgs{
		"credentials": WrappedCredentials,
		"endpoints":   SealedEndpoints.Title,
		"seeds":       SealedSeeds.Title,
		"flows":       SealedFlows.Title,
		"answers":     SealedAnswers.Title,
		"erasures":    SealedErasures.Title,
		"exports":     SealedExports.Title,
		"plugins":     SealedPlugins.Title,
		"signing":     SealedSigning.Title,
		"missing":     SealedMissing.Title,
	})
}
