package report

// Answer is what the page of a finished run begins with: its answer in sentences of plain language,
// the first of which says the most.
func Answer(dir string) ([]string, error) {
	s, err := open(dir)
	if err != nil {
		return nil, err
	}
	a, err := s.head()
	if err != nil {
		return nil, err
	}
	return a.Answer, nil
}
