// Package all lists the live carriers. It is the only list: adding a carrier
// is one folder and one line here. The simulated carriers of the sandbox are
// not live; package sandbox lists them.
package all

import "github.com/waybillhq/waybill/internal/carrier"

// Specs are the carriers that a client can connect its own accounts of. There
// is none yet.
var Specs = []carrier.Spec{}
