package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

func (s *service) documentCommand() *cobra.Command {
	return group("document", "Upload, list and resolve documents of shipments",
		s.documentUploadCommand(), s.documentListCommand(), s.documentResolveCommand())
}

func (s *service) documentUploadCommand() *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:   "upload SHIPMENT FILE",
		Short: "Add a document to a shipment, and send it to the carrier if it takes such documents",
		Long: "Add a PDF, PNG or JPEG file of at most 10 MiB to the documents of a shipment. A document that\n" +
			"customs need is sent to the carrier in the background, if the carrier takes it:\n" +
			"\"waybill document list\" shows how far it is.",
		Example: "  waybill document upload shp_... certificate.pdf --type certificate_of_origin",
		Args:    cobra.ExactArgs(2),
	}
	cmd.Flags().StringVar(&kind, "type", "other", "commercial_invoice, certificate_of_origin, packing_list, export_license, import_permit, declaration, power_of_attorney or other")
	return use(s, acts, cmd, func(r *request) (client.Document, error) {
		file, err := os.ReadFile(r.args[1])
		if err != nil {
			return client.Document{}, err
		}
		return r.UploadDocument(r, r.args[0], kind, file)
	}, writeDocument)
}

func writeDocument(w io.Writer, document client.Document) {
	writeLines(w, [][2]string{
		{"document", document.Type},
		{"url", document.URL},
		{"carrier", submissionWord(document)},
	})
}

// submissionWord says how far a document is on its way to the carrier.
func submissionWord(document client.Document) string {
	switch {
	case !document.Uploaded:
		return "made by the carrier"
	case document.Submission == nil:
		return "only kept"
	}
	return document.Submission.Status
}

func (s *service) documentListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list SHIPMENT",
		Short:   "List the documents of a shipment",
		Example: "  waybill document list shp_...",
		Args:    oneArgument,
	}
	return use(s, reads, cmd, func(r *request) ([]client.Document, error) {
		shipment, err := r.Shipment(r, r.args[0])
		return shipment.Documents, err
	}, func(w io.Writer, documents []client.Document) {
		fmt.Fprintln(w, "NUMBER\tTYPE\tCARRIER\tMESSAGE")
		for i, document := range documents {
			message := ""
			if document.Submission != nil {
				message = cmp.Or(document.Submission.Message, document.Submission.DocumentID)
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", i+1, document.Type, submissionWord(document), message)
		}
	})
}

func (s *service) documentResolveCommand() *cobra.Command {
	var found resolution
	cmd := &cobra.Command{
		Use:     "resolve SHIPMENT NUMBER",
		Short:   "End the review of a document with what the carrier says",
		Example: "  waybill document resolve shp_... 2 --not-received",
		Args:    cobra.ExactArgs(2),
	}
	found.flags(cmd, "received", "document-id", "the carrier's number of the document")
	return use(s, acts, cmd, func(r *request) (client.Document, error) {
		number, err := strconv.Atoi(r.args[1])
		if err != nil {
			return client.Document{}, usage("%q is not the number of a document: \"waybill document list\" prints them", r.args[1])
		}
		return r.ResolveDocument(r, r.args[0], number, found.done, found.number)
	}, writeDocument)
}

// A resolution is what a person learned from the carrier about something that needs
// review.
type resolution struct {
	done, notDone bool
	number        string
}

// flags adds the flags of a resolution: --done or --not-done, of which one is needed,
// and the carrier's number.
func (f *resolution) flags(cmd *cobra.Command, done, number, help string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.done, done, false, "the carrier has it")
	flags.BoolVar(&f.notDone, "not-"+done, false, "the carrier does not have it")
	flags.StringVar(&f.number, number, "", help)
	cmd.MarkFlagsOneRequired(done, "not-"+done)
	cmd.MarkFlagsMutuallyExclusive(done, "not-"+done)
	cmd.MarkFlagsMutuallyExclusive("not-"+done, number)
}

func (s *service) pickupResolveCommand() *cobra.Command {
	var found resolution
	cmd := &cobra.Command{
		Use:     "resolve PICKUP",
		Short:   "End the review of a pickup with what the carrier says",
		Example: "  waybill pickup resolve pik_... --booked --confirmation 2929602E9CP",
		Args:    oneArgument,
	}
	found.flags(cmd, "booked", "confirmation", "the carrier's number of the pickup")
	return use(s, acts, cmd, func(r *request) (client.Pickup, error) {
		return r.ResolvePickup(r, r.args[0], found.done, found.number)
	}, writePickup)
}

func (s *service) manifestResolveCommand() *cobra.Command {
	var found resolution
	cmd := &cobra.Command{
		Use:     "resolve MANIFEST",
		Short:   "End the review of a manifest with what the carrier says",
		Example: "  waybill manifest resolve man_... --not-closed",
		Args:    oneArgument,
	}
	found.flags(cmd, "closed", "number", "the carrier's number of the manifest")
	return use(s, acts, cmd, func(r *request) (client.Manifest, error) {
		return r.ResolveManifest(r, r.args[0], found.done, found.number)
	}, writeManifest)
}
