package usps

import "time"

// An item is the next event of one parcel to send to one subscriber.
type item struct {
	sub    string
	parcel *parcel
	next   int // step
	at     time.Time
	tries  int
	era    int
}

// agenda is a heap of items, the earliest first.
type agenda []item

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push is heap.Interface.
func (a *agenda) Push(x any) { *a = append(*a, x.(item)) }

// Pop is heap.Interface.
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}
