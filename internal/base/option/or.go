package option

// Or is the number that an option points to, or its default if the option is left out. For
// options of which 0 is a setting, and not the default: a margin of 0.2, say.
func Or(given *float64, def float64) float64 {
	if given == nil {
		return def
	}
	return *given
}
