// Package store holds every SQL statement and the transactions they run in.
// It knows Postgres and River and nothing of carriers, HTTP or rules.
//
// A statement is a constant whose name begins with sql, above the method that runs
// it. The files are named after what their statements are about:
//
//   - The database: store.go (Open, transactions, errors), connect.go (which server), silence_linux.go and silence_other.go
//     (when a server is given up), query.go (how
//     statements run), named_args.go, arrays.go, ids.go, subjects.go and nulls.go
//     (how values are passed and read), migrate.go, logins.go, partitions.go, archive.go,
//     instance.go, restores.go (that the database was put back), inspection.go, vitals.go and invariants.go (diagnostics),
//     jobs.go (the queue),
//     cells.go (which database holds which accounts), moves.go, moves_lease.go,
//     moves_copy.go and moves_people.go (how they move between databases).
//   - Accounts and people: accounts.go, account_logos.go, locations.go, api_keys.go,
//     connections.go, carrier_plugins.go, differences.go (what drivers do not know), sealed_secrets.go, members.go, people.go, invitations.go,
//     passkeys.go, sessions.go, device_sign_ins.go (of terminals), sign_in_policies.go, sign_in_ceremonies.go,
//     sign_in_throttles.go, audit.go, audited_changes.go, audit_chain.go and
//     audit_verify.go.
//   - Purchases: purchase_create.go (in one statement), purchases.go (recorded,
//     settled, moved), grouped_writes.go (many in one transaction),
//     grouped_inserts.go, grouped_settlements.go, purchase_attempts.go, connection_lookups.go (how far look-ups are trusted), returns.go, return_requests.go (of recipients), approvals.go, orphaned_labels.go, missing_purchases.go (what a restore lost), missing_decisions.go (what people decide about it), charges.go, uploads.go, storage.go (how much an account stores),
//     spending.go, idempotency.go.
//   - Shipments: shipments.go, shipment_lists.go, shipment_list_ids.go,
//     shipment_search.go, search_words.go, shipment_facts.go, facts_rollup.go,
//     shipment_counts.go, attention.go, shipment_events.go, address_checks.go,
//     label_prints.go, label_files.go (labels that are rendered in the background).
//   - Batches and routing: batches.go, batch_rows.go, batch_quotes.go, requested_batches.go (by the
//     API), boxes.go, routing_rules.go, rate_sheets.go, transit_times.go.
//   - Bulk work: bulk_actions.go (actions on many shipments and their rows),
//     saved_views.go, column_mappings.go.
//   - The hand-over: pickups.go, manifests.go, document_submissions.go, effects.go (how far they are).
//   - Clients of another API: compat_objects.go.
//   - Tracking: tracking_states.go, grouped_lookups.go (many in one statement),
//     tracking_changes.go, tracking_numbers.go, tracking_codes.go, trackers.go,
//     sandbox_polls.go, carrier_polls.go, carrier_pushes.go.
//   - The log and webhooks: log.go, log_horizon.go, log_recent.go, log_snapshot.go,
//     webhook_endpoints.go, webhook_slots.go, webhook_dispatch.go,
//     webhook_attempts.go, webhook_recovery.go.
//   - Records of traffic: request_log.go, carrier_exchanges.go, carrier_calls.go.
//   - Personal data: erasures.go, erasure_shipments.go, erasure_trackers.go,
//     erasure_texts.go, erasure_missing.go, exports.go, retention.go (of accounts), shipment_retention.go (of the
//     installation), personal_data.go.
package store
