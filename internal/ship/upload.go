package ship

import "bytes"

// Bounds of the files that clients add to a shipment.
const (
	MaxUploads     = 20       // files of a shipment
	MaxUploadBytes = 10 << 20 // of one
)

// A DocumentReceipt is what a carrier answered to a document.
type DocumentReceipt struct {
	ID string `json:"id,omitempty"` // the carrier's number of the document; empty if it gives none
}

// UploadTypes are what an uploaded document can be.
var UploadTypes = []string{
	"commercial_invoice", "certificate_of_origin", "packing_list", "export_license", "import_permit",
	"declaration", "power_of_attorney", "other",
}

// UploadFormat recognizes the format of a file by how it begins: "pdf", "png" or
// "jpg". It is empty for any other.
func UploadFormat(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return "pdf"
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "jpg"
	}
	return ""
}
