package option

// OrDefault returns the number that an option points to, or its default if the option is left out. It is for
// options where 0 is a setting and the default is another number, such as a margin of 0.2.
func OrDefault(given *float64, def float64) float64 {
	if given == nil {
		return def
	}
	return *given
}
