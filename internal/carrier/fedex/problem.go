package fedex

import (
	"errors"
	"fmt"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// problems are the reasons for which FedEx would not take an order. They are
// collected, so that a client can correct them all at once.
type problems []ship.FieldError

func (p *problems) add(pointer, code, detail string, args ...any) {
	*p = append(*p, ship.FieldError{Pointer: pointer, Code: code, Detail: fmt.Sprintf(detail, args...)})
}

// collect adds the fields of an error that shared checks found.
func (p *problems) collect(err error) {
	if e, ok := errors.AsType[*ship.Error](err); ok {
		*p = append(*p, e.Fields...)
	}
}

// err is the error of the order, nil if FedEx takes it.
func (p problems) err() error { return carrierkit.InvalidOrder(Spec.Title, p) }
