package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// Reasons why a command is not in the audit log.
const (
	looks   = "it looks, and changes nothing of an account"
	serves  = "it runs the service, whose changes are those of people and keys"
	machine = "it is about the installation, and no account"
	asKey   = "it calls the API with a key, which records what is changed"
)

// unaudited are the commands whose changes are not in the audit log, and why.
// The changes of all others are recorded as the operator's.
var unaudited = map[string]string{
	"waybill account list":       looks,
	"waybill api":                asKey,
	"waybill archive list":       looks,
	"waybill archive query":      looks,
	"waybill archive verify":     looks,
	"waybill audit prune":        "what it dropped is in audit_anchors, with the time; no account's settings change",
	"waybill audit stream":       looks,
	"waybill audit verify":       looks,
	"waybill carrier drift":      looks,
	"waybill carrier list":       looks,
	"waybill carrier verify":     machine,
	"waybill cell add":           machine,
	"waybill cell drain":         machine,
	"waybill cell list":          looks,
	"waybill connection certify": "what it buys is in its report, and voided; nothing of an account changes",
	"waybill connection check":   looks,
	"waybill connection fields":  looks,
	"waybill connection list":    looks,
	"waybill connection push":    looks,
	"waybill dev":                "what it creates for the demo is recorded; then it runs the service",
	"waybill doctor":             looks,
	"waybill docs export":        machine,
	"waybill document list":      asKey,
	"waybill document resolve":   asKey,
	"waybill document upload":    asKey,
	"waybill duties":             asKey,
	"waybill emulate":            machine,
	"waybill environment":        looks,
	"waybill events tail":        asKey,
	"waybill exit-codes":         looks,
	"waybill health":             looks,
	"waybill import easypost":    asKey,
	"waybill key list":           looks,
	"waybill label":              asKey,
	"waybill listen":             looks,
	"waybill locations":          asKey,
	"waybill login":              "a person approves it in the dashboard, which records it, and the key that it gets",
	"waybill logout":             asKey,
	"waybill man":                looks,
	"waybill manifest close":     asKey,
	"waybill manifest file":      asKey,
	"waybill manifest list":      asKey,
	"waybill manifest resolve":   asKey,
	"waybill mcp":                asKey,
	"waybill member list":        looks,
	"waybill member setup":       "nothing is changed before the link is used, and its use is recorded",
	"waybill migrate":            machine,
	"waybill open":               looks,
	"waybill pickup book":        asKey,
	"waybill pickup cancel":      asKey,
	"waybill pickup list":        asKey,
	"waybill pickup resolve":     asKey,
	"waybill points":             asKey,
	"waybill profile list":       looks,
	"waybill profile use":        "profiles are files of this user, and no account",
	"waybill proof":              asKey,
	"waybill rates":              asKey,
	"waybill ratesheet check":    looks,
	"waybill ratesheet list":     looks,
	"waybill ratesheet show":     looks,
	"waybill requests tail":      asKey,
	"waybill return":             asKey,
	"waybill route":              serves,
	"waybill routing check":      looks,
	"waybill routing history":    looks,
	"waybill routing show":       looks,
	"waybill routing simulate":   looks,
	"waybill routing variables":  looks,
	"waybill secret-key add":     machine,
	"waybill secret-key create":  machine,
	"waybill secret-key prune":   machine,
	"waybill serve":              serves,
	"waybill settings":           looks,
	"waybill shard list":         looks,
	"waybill shard move":         machine,
	"waybill shard moves":        looks,
	"waybill shard purge":        machine,
	"waybill shard rebalance":    machine,
	"waybill ship":               asKey,
	"waybill shipments get":      asKey,
	"waybill shipments list":     asKey,
	"waybill track":              asKey,
	"waybill tracking replay":    "it reads a carrier's events of all accounts anew; the parcels' own events tell what that changed",
	"waybill tracking unmapped":  looks,
	"waybill trigger fault":      asKey,
	"waybill version":            looks,
	"waybill void":               asKey,
	"waybill whoami":             asKey,
}

// audited makes the services record what the command changes in the audit log
// of the account, as the operator's.
func audited(cmd *cobra.Command, _ []string) {
	if unaudited[cmd.CommandPath()] == "" {
		cmd.SetContext(asOperator(cmd.Context(), cmd.CommandPath()))
	}
}

func asOperator(ctx context.Context, command string) context.Context {
	return member.Audited(ctx, operator("", command), member.Entry{})
}

// operator returns the operator, who ran the command.
func operator(id ship.AccountID, command string) member.Actor {
	actor := member.Operator(id)
	actor.From.Agent = command
	return actor
}
