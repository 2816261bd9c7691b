package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

func (s *service) apiCommand() *cobra.Command {
	var data, key string
	cmd := &cobra.Command{
		Use:   "api [METHOD] PATH",
		Short: "Call the API and print the answer",
		Long: "Call the API and print the answer. The method is GET, or POST if there is a body. A POST gets an\n" +
			"idempotency key, which is printed before the call, and is repeated with it if the answer is lost.\n" +
			"After a crash, the same command with --idempotency-key and that key does nothing twice.",
		Example: "  waybill api '/v1/events?limit=5'\n  waybill api POST /v1/rates -d @rates.json --jq '.rates[0].amount'",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			method, path := "", args[len(args)-1]
			if len(args) == 2 {
				method = strings.ToUpper(args[0])
			} else if data != "" {
				method = http.MethodPost
			}
			method = cmp.Or(method, http.MethodGet)
			if !strings.HasPrefix(path, "/") {
				return usage("%s is not a path such as /v1/shipments", path)
			}

			r, err := s.open(cmd.Context(), method != http.MethodGet, args)
			if err != nil {
				return err
			}
			body := []byte(data)
			if file, isFile := strings.CutPrefix(data, "@"); isFile || data == "-" {
				if body, err = s.readFile(cmp.Or(file, "-")); err != nil {
					return err
				}
			}

			// The key is known before the call, so that the call can be resumed
			// with it if this program ends first.
			var options []client.CallOption
			if method == http.MethodPost && key == "" {
				key = client.NewIdempotencyKey()
			}
			if key != "" {
				fmt.Fprintf(s.Err, "idempotency key: %s\n", key)
				options = append(options, client.IdempotencyKey(key))
			}

			answer, err := r.Call(r, method, path, body, options...)
			if err != nil {
				return err
			}

			// What is not JSON, such as a label, is printed as it is.
			if !json.Valid(answer) {
				return s.save(savedFile{"-", answer})
			}
			if s.wantsJSON() {
				return s.show(answer, nil)
			}
			return s.showJSON(answer, true)
		},
	}

	s.liveFlag(cmd)
	cmd.Flags().StringVarP(&data, "data", "d", "", "body in JSON, @FILE, or - for standard input")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "idempotency key of a POST (default: a new one)")
	return cmd
}
