package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/cell"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// movingHelp is what the commands that move shards have in common.
const movingHelp = "A move needs the address of both databases with a login that is a superuser, and wal_level=logical:\n" +
	"--cell-database NAME=URL for each, or CELL_DATABASES=NAME=URL,NAME=URL in the environment. The service\n" +
	"never gets these addresses. The target's server connects to the source's with them.\n\n" +
	"A command that is interrupted is repeated: it goes on where the last one was."

// moving is what the commands that move shards share.
type moving struct {
	*cli
	databases []string
	keep      time.Duration
}

func (c *cli) newMoving(cmd *cobra.Command) *moving {
	m := &moving{cli: c}
	cmd.Flags().StringArrayVar(&m.databases, "cell-database", nil, "NAME=URL of a cell's database, with a superuser's login; repeat it for each cell")
	cmd.Flags().DurationVar(&m.keep, "keep", 24*time.Hour, "how long the source keeps the rows of a shard that has left")
	return m
}

// with calls fn with a mover.
func (m *moving) with(ctx context.Context, fn func(*cell.Mover) error) error {
	list := m.databases
	if fromEnvironment, _ := m.Env("CELL_DATABASES"); len(list) == 0 && fromEnvironment != "" {
		list = strings.Split(fromEnvironment, ",")
	}
	databases := map[string]string{}
	for _, text := range list {
		name, address, ok := strings.Cut(strings.TrimSpace(text), "=")
		if !ok {
			return errors.New("--cell-database must be NAME=URL, such as eu-2=postgres://postgres:secret@10.0.2.6/waybill")
		}
		databases[name] = address
	}

	directory, err := m.directoryOwner()
	if err != nil {
		return err
	}
	open, err := store.OpenDirectoryOwner(ctx, directory)
	if err != nil {
		return err
	}
	defer open.Close()
	return fn(&cell.Mover{Store: open, Databases: databases, Keep: m.keep, Progress: m.report})
}

// report prints how far a move is.
func (m *moving) report(move *store.Move) {
	fmt.Fprintf(m.Err, "shard %d to %s: %s", move.Shard, move.Target, strings.ReplaceAll(string(move.State), "_", " "))
	if move.State == store.MoveCopying && move.RowsExpected > 0 {
		fmt.Fprintf(m.Err, ", %d of %d rows, %d KiB", move.RowsCopied, move.RowsExpected, move.BytesCopied>>10)
		if elapsed := time.Since(move.StartedAt); move.RowsCopied > 0 {
			left := elapsed * time.Duration(move.RowsExpected-move.RowsCopied) / time.Duration(move.RowsCopied)
			fmt.Fprintf(m.Err, ", about %s left", left.Round(time.Second))
		}
	}
	fmt.Fprintln(m.Err)
}

func (c *cli) shardMoveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "move SHARD CELL",
		Short: "Move the accounts of a shard to another cell, while they are served",
		Long: "Move the accounts of a shard to another cell while they are served. Their requests wait for a moment\n" +
			"at the end, in which the rows of both cells are compared.\n\n" + movingHelp,
		Args: cobra.ExactArgs(2),
	}

	m := c.newMoving(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		shard, err := parseShard(args[0])
		if err != nil {
			return err
		}

		return m.with(cmd.Context(), func(mover *cell.Mover) error {
			move, err := mover.Move(cmd.Context(), shard, args[1])
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "shard %d is at %s: %d rows, %d KiB; \"waybill shard purge\" deletes its rows from %s after %s\n",
				shard, move.Target, move.RowsCopied, move.BytesCopied>>10, move.Source, m.keep)
			return nil
		})
	}
	return cmd
}

// parseShard reads the number of a shard, or the id of an account.
func parseShard(text string) (ship.Shard, error) {
	if account, ok := ship.ParseAccountID(text); ok {
		return account.Raw().Shard(), nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n >= ship.Shards {
		return 0, fmt.Errorf("%q is neither a shard from 0 to %d nor the id of an account", text, ship.Shards-1)
	}
	return ship.Shard(n), nil
}

func (c *cli) shardRebalanceCommand() *cobra.Command {
	var most int
	cmd := &cobra.Command{
		Use:   "rebalance",
		Short: "Move shards until all cells hold equally many",
		Long:  "Move shards, one after the other, until all cells hold equally many.\n\n" + movingHelp,
		Args:  cobra.NoArgs,
	}
	m := c.newMoving(cmd)
	cmd.Flags().IntVar(&most, "most", 0, "maximum number of shards to move (default: all that is needed)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return m.balance(cmd.Context(), "", most) }
	return cmd
}

func (c *cli) cellDrainCommand() *cobra.Command {
	var most int
	cmd := &cobra.Command{
		Use:   "drain NAME",
		Short: "Move all shards of a cell to the others",
		Long: "Move all shards of a cell to the others, one after the other. Shards that cannot move yet, because\n" +
			"a cell still keeps their old rows or another mover is at work on them, come last: the command says\n" +
			"what it waits for, and goes on by itself.\n\n" + movingHelp,
		Args: oneArgument,
	}
	m := c.newMoving(cmd)
	cmd.Flags().IntVar(&most, "most", 0, "maximum number of shards to move (default: all)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return m.balance(cmd.Context(), args[0], most) }
	return cmd
}

// balance moves shards one after the other, those first whose move was interrupted.
func (m *moving) balance(ctx context.Context, leaving string, most int) error {
	return m.with(ctx, func(mover *cell.Mover) error {
		if err := mover.Resume(ctx); err != nil {
			return err
		}

		places, err := mover.Store.Places(ctx)
		if err != nil {
			return err
		}
		if isCell := func(c store.Cell) bool { return c.Name == leaving }; leaving != "" && !slices.ContainsFunc(places.Cells, isCell) {
			return fmt.Errorf("there is no cell %s: \"waybill cell list\" lists them", leaving)
		}
		transfers := cell.Balance(places, leaving)
		if most > 0 && len(transfers) > most {
			transfers = transfers[:most]
		}

		began := time.Now()
		moved := func(done int) {
			left := time.Since(began) / time.Duration(done) * time.Duration(len(transfers)-done)
			fmt.Fprintf(m.Err, "%d of %d shards, about %s left\n", done, len(transfers), left.Round(time.Second))
		}
		waiting := func(count int, reason error) {
			fmt.Fprintf(m.Err, "%d shards wait, and move as soon as they can: %v\n", count, reason)
		}
		if err := mover.MoveAll(ctx, transfers, moved, waiting); err != nil {
			return err
		}
		fmt.Fprintf(m.Out, "moved %d shards\n", len(transfers))
		return nil
	})
}

func (c *cli) shardPurgeCommand() *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use:   "purge",
		Short: "Delete the rows of shards from the cells that they have left",
		Long: "Delete the rows of shards from the cells that they have left, if these have kept them for as long as\n" +
			"the move said, or if personal data was erased since. Run it every hour.\n\n" + movingHelp,
		Args: cobra.NoArgs,
	}
	m := c.newMoving(cmd)
	cmd.Flags().BoolVar(&now, "now", false, "do not wait")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.with(cmd.Context(), func(mover *cell.Mover) error {
			done, err := mover.Purge(cmd.Context(), now)
			fmt.Fprintf(c.Out, "purged %d shards\n", done)
			return err
		})
	}
	return cmd
}

func (c *cli) shardMovesCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "moves",
		Short: "List the moves of shards that are not done",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m := &moving{cli: c}
			return m.with(cmd.Context(), func(mover *cell.Mover) error {
				moves, err := mover.Store.Moves(cmd.Context(), all)
				if err != nil {
					return err
				}
				return c.printMoves(moves)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list those that are done too")
	return cmd
}

// printMoves prints a line for each move.
func (c *cli) printMoves(moves []store.Move) error {
	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SHARD\tFROM\tTO\tSTATE\tROWS\tKIB\tFAILURES\tLAST ERROR")

	for _, move := range moves {
		rows := fmt.Sprintf("%d/%d", move.RowsCopied, move.RowsExpected)
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n",
			move.Shard, move.Source, move.Target, move.State, rows, move.BytesCopied>>10, move.Failures, firstLine(move.LastError))
	}
	return table.Flush()
}

func firstLine(text *string) string {
	if text == nil {
		return ""
	}
	line, _, _ := strings.Cut(*text, "\n")
	return line
}
