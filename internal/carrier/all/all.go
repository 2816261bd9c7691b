// Package all lists the live carriers. It is the only list: adding a carrier
// is one folder and one line here. The simulated carriers of the sandbox are
// not live; package sandbox lists them.
package all

import (
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/amazonshipping"
	"github.com/waybillhq/waybill/internal/carrier/canadapost"
	"github.com/waybillhq/waybill/internal/carrier/dhlexpress"
	"github.com/waybillhq/waybill/internal/carrier/dhlparcelde"
	"github.com/waybillhq/waybill/internal/carrier/fedex"
	"github.com/waybillhq/waybill/internal/carrier/gls"
	"github.com/waybillhq/waybill/internal/carrier/postnl"
	"github.com/waybillhq/waybill/internal/carrier/royalmail"
	"github.com/waybillhq/waybill/internal/carrier/ups"
	"github.com/waybillhq/waybill/internal/carrier/usps"
)

// Specs are the carriers with which a client can connect its own accounts.
var Specs = []carrier.Spec{
	ups.Spec,
	usps.Spec,
	fedex.Spec,
	dhlexpress.Spec,
	dhlparcelde.Spec,
	gls.Spec,
	royalmail.Spec,
	postnl.Spec,
	canadapost.Spec,
	amazonshipping.Spec,
}
