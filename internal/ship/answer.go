package ship

// An Answer is a finished HTTP answer, kept to be replayed byte for byte.
type Answer struct {
	Status int
	Body   []byte
}

// A Page asks for a part of a list, newest first.
type Page struct {
	Limit  int
	Before RawID // the last id of the page before; zero for the first page
}
