package ups

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/emulator"
)

// addressKey is an address as UPS writes it.
type addressKey struct {
	AddressLine         list[string] `json:"AddressLine,omitempty"`
	PoliticalDivision2  string       `json:"PoliticalDivision2,omitempty"`
	PoliticalDivision1  string       `json:"PoliticalDivision1,omitempty"`
	PostcodePrimaryLow  string       `json:"PostcodePrimaryLow,omitempty"`
	PostcodeExtendedLow string       `json:"PostcodeExtendedLow,omitempty"`
	Region              string       `json:"Region,omitempty"`
	CountryCode         string       `json:"CountryCode"`
}

// checkAddress validates and classifies an address: the request option 3.
func (s *server) checkAddress(w http.ResponseWriter, r *http.Request) {
	var in struct {
		XAVRequest *struct{ AddressKeyFormat *addressKey }
	}
	if !decode(w, r, &in) {
		return
	}
	if r.PathValue("option") != "3" {
		refuse(w, refusal{"9264028", "Invalid or missing request option."})
		return
	}
	if in.XAVRequest == nil || in.XAVRequest.AddressKeyFormat == nil {
		refuse(w, refusal{"9264002", "Country or territory code is invalid or missing."})
		return
	}
	given := *in.XAVRequest.AddressKeyFormat
	if given.CountryCode != "US" && given.CountryCode != "PR" {
		refuse(w, refusal{"9264002", "Country or territory code is invalid or missing."})
		return
	}
	if s.settings.Load().TestEnvironment && given.PoliticalDivision1 != "NY" && given.PoliticalDivision1 != "CA" {
		refuse(w, refusal{"9264030", "The state is not supported in the Customer Integration Environment."})
		return
	}

	found := emulator.FindAddress(emulator.Address{
		Lines:   given.AddressLine,
		City:    given.PoliticalDivision2,
		State:   given.PoliticalDivision1,
		Zip:     given.PostcodePrimaryLow,
		Plus4:   given.PostcodeExtendedLow,
		Country: given.CountryCode,
	})
	s.AnswerAddress(w, r, http.StatusOK, "application/json", encode(map[string]any{"XAVResponse": verdictOn(found)}))
}

// verdictOn returns the answer about an address that means the places.
func verdictOn(found []emulator.Address) map[string]any {
	out := map[string]any{"Response": responseOf("")}
	var candidates []map[string]any
	for _, one := range found {
		class := code{"1", "Commercial"}
		if one.IsHome {
			class = code{"2", "Residential"}
		}
		out["AddressClassification"] = class
		candidates = append(candidates, map[string]any{
			"AddressClassification": class,
			"AddressKeyFormat": addressKey{
				AddressLine:         one.Lines,
				PoliticalDivision2:  one.City,
				PoliticalDivision1:  one.State,
				PostcodePrimaryLow:  one.Zip,
				PostcodeExtendedLow: one.Plus4,
				Region:              one.City + " " + one.State + " " + one.Zip + "-" + one.Plus4,
				CountryCode:         one.Country,
			},
		})
	}

	switch {
	case len(found) == 0:
		out["NoCandidatesIndicator"] = ""
		out["AddressClassification"] = code{"0", "UnClassified"}
	case len(found) > 1:
		out["AmbiguousAddressIndicator"] = ""
		out["AddressClassification"] = code{"0", "UnClassified"}
		out["Candidate"] = candidates
	default:
		out["ValidAddressIndicator"] = ""
		out["Candidate"] = candidates
	}
	return out
}
