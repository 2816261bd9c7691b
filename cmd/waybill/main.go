// Command waybill is the whole service: the API, the worker and the tools of
// its operators.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/waybillhq/waybill/internal/cli"
)

func main() {
	ctx, stop := cli.UntilSignal(context.Background())
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:], os.LookupEnv); err != nil {
		if !errors.Is(err, cli.ErrUnhealthy) {
			fmt.Fprintln(os.Stderr, cli.Explain(err))
		}
		os.Exit(cli.ExitCode(err))
	}
}

func run(ctx context.Context, args []string, env func(string) (string, bool)) error {
	return cli.Run(ctx, args, cli.Streams{Env: env, In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}
