package site

import (
	"net/url"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/web/parts"
)

// A ShortList is what surrounds a list that is read as a whole: its filters, its
// download, its pages.
type ShortList struct {
	Path, Section string
	Text, State   string // the chosen filters
	States        []parts.Choice
	Cursor, Next  string
	Shown, All    int
}

// Address returns the address of the list with its filters, from the cursor on.
func (l ShortList) Address(path, cursor string) string {
	query := url.Values{}
	for name, value := range map[string]string{"q": l.Text, "state": l.State, "cursor": cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}

	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// A Line says how the items of a list are identified and filtered.
type Line[T any] struct {
	ID    func(T) string
	Text  func(T) string // that the search looks at
	State func(T) string // one of the list's states
}

// Shorten filters a list as the address asks, and returns one page of it.
func Shorten[T any](v *Visit, section string, list []T, states []parts.Choice, l Line[T]) ([]T, ShortList) {
	tools := ShortList{
		Path:    v.To(section),
		Section: section,
		Text:    v.Query("q"),
		State:   v.Query("state"),
		Cursor:  v.Query("cursor"),
		States:  states,
		All:     len(list),
	}

	// If the item of the cursor no longer matches, the list starts again.
	list = Matching(v, list, l)
	if i := slices.IndexFunc(list, func(item T) bool { return l.ID(item) == tools.Cursor }); i >= 0 {
		list = list[i+1:]
	}
	if len(list) > PageSize {
		list = list[:PageSize]
		tools.Next = tools.Address(tools.Path, l.ID(list[PageSize-1]))
	}
	tools.Shown = len(list)
	return list, tools
}

// Matching returns the items that have the text and the state that the address
// asks for.
func Matching[T any](v *Visit, list []T, l Line[T]) []T {
	text := strings.ToLower(v.Query("q"))
	state := v.Query("state")
	return slices.DeleteFunc(slices.Clone(list), func(item T) bool {
		return !strings.Contains(strings.ToLower(l.Text(item)), text) || state != "" && l.State(item) != state
	})
}

// PageSize is the number of lines on a page of a list.
const PageSize = 50
