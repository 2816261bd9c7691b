package tracking

// ReadPage reads the token of a tracking page's address.
func ReadPage(s *Service, token string) (Page, error) { return s.pages.read(token) }
