package store

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A CarrierPlugin is a carrier whose driver is a program of its own, as
// registered. Its secret is sealed.
type CarrierPlugin struct {
	Name        string
	URL         string
	Secret      []byte
	Description []byte // JSON
	Revision    int    // counts the registrations
	UpdatedAt   time.Time
	RemovedAt   time.Time
}

// sqlSaveCarrierPlugin registers a plug-in, or registers one again that was
// there before, removed or not.
const sqlSaveCarrierPlugin = `
INSERT INTO carrier_plugins (name, url, encrypted_secret, description)
VALUES (@name, @url, @secret, @description)
ON CONFLICT (name) DO UPDATE SET
  url = excluded.url,
  encrypted_secret = excluded.encrypted_secret,
  description = excluded.description,
  revision = carrier_plugins.revision + 1,
  updated_at = now(),
  removed_at = NULL`

// SaveCarrierPlugin registers a plug-in under its name. It decides where credentials
// go, so the audit log of every account has an entry.
func (s *Store) SaveCarrierPlugin(ctx context.Context, plugin CarrierPlugin) error {
	details := map[string]string{}
	if address, err := url.Parse(plugin.URL); err == nil {
		details["host"] = address.Host
	}

	err := s.changingSystem(ctx, func(tx *Store) error {
		_, err := tx.run(ctx, sqlSaveCarrierPlugin, pgx.NamedArgs{
			"name":        plugin.Name,
			"url":         plugin.URL,
			"secret":      plugin.Secret,
			"description": plugin.Description,
		})
		if err != nil {
			return err
		}
		return tx.auditEverywhere(ctx, AuditEntry{Action: "carrier.registered", Target: plugin.Name, Details: details})
	})
	if err != nil {
		return fmt.Errorf("register the plug-in %s: %w", plugin.Name, err)
	}
	return nil
}

const sqlAuditedAccounts = `SELECT a.id FROM accounts a WHERE ` + isHere + ` ORDER BY a.id`

// auditEverywhere writes an entry of every account, if the context says who makes the
// change.
func (s *Store) auditEverywhere(ctx context.Context, entry AuditEntry) error {
	if auditorOf(ctx) == nil {
		return nil
	}
	accounts, err := selectList(ctx, s.system(), pgx.RowTo[ship.AccountID], sqlAuditedAccounts)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		entry.Account = account
		if err := s.AuditChange(ctx, entry); err != nil {
			return err
		}
	}
	return nil
}

const sqlCarrierPlugins = `
SELECT name, url, encrypted_secret, description, revision, updated_at, removed_at
FROM carrier_plugins
ORDER BY name`

// CarrierPlugins lists the registered plug-ins by name, also removed ones.
func (s *Store) CarrierPlugins(ctx context.Context) ([]CarrierPlugin, error) {
	return selectList(ctx, s.sys, scanCarrierPlugin, sqlCarrierPlugins)
}

func scanCarrierPlugin(r pgx.CollectableRow) (plugin CarrierPlugin, err error) {
	var removedAt *time.Time
	err = r.Scan(
		&plugin.Name,
		&plugin.URL,
		&plugin.Secret,
		&plugin.Description,
		&plugin.Revision,
		&plugin.UpdatedAt,
		&removedAt,
	)
	plugin.UpdatedAt = plugin.UpdatedAt.UTC()
	plugin.RemovedAt = timeOrZero(removedAt)
	return plugin, err
}

// sqlRemoveCarrierPlugin leaves a plug-in alone that accounts still use.
const sqlRemoveCarrierPlugin = `
WITH used AS (SELECT count(*) AS connections FROM connections c WHERE c.carrier = @name AND c.removed_at IS NULL),
removed AS (
  UPDATE carrier_plugins p SET removed_at = now(), updated_at = now(), revision = p.revision + 1
  FROM used
  WHERE p.name = @name AND p.removed_at IS NULL AND used.connections = 0
  RETURNING p.name)
SELECT used.connections, EXISTS (SELECT FROM removed) FROM used`

// RemoveCarrierPlugin takes a plug-in out of use. It is ship.Conflict while
// accounts have connections to it, and ship.NotFound if there is none.
func (s *Store) RemoveCarrierPlugin(ctx context.Context, name string) error {
	var (
		connections int
		isRemoved   bool
	)
	err := s.changingSystem(ctx, func(tx *Store) error {
		err := tx.system().QueryRow(ctx, sqlRemoveCarrierPlugin, pgx.NamedArgs{"name": name}).Scan(&connections, &isRemoved)
		if err != nil || !isRemoved {
			return explain(err)
		}
		return tx.auditEverywhere(ctx, AuditEntry{Action: "carrier.removed", Target: name})
	})
	switch {
	case err != nil:
		return fmt.Errorf("remove the plug-in %s: %w", name, err)
	case isRemoved:
		return nil
	case connections > 0:
		return ship.Errorf(ship.Conflict, "%d connections use the carrier %s: remove them first, with \"waybill connection remove\"", connections, name)
	}
	return ship.Errorf(ship.NotFound, "there is no plug-in %q: \"waybill carrier list\" lists them", name)
}
