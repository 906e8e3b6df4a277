package option

import "fmt"

// Invalid is the error for a setting with a wrong value.
type Invalid struct {
	Setting string // name of the setting, as in Inapplicable
	Value   string
	Want    string // which values are allowed
}

// Error names the setting as a request does.
func (e *Invalid) Error() string { return e.Named(func(setting string) string { return setting }) }

// Named is Error with another name for the setting.
func (e *Invalid) Named(name func(setting string) string) string {
	return fmt.Sprintf("%s %s: want %s", name(e.Setting), e.Value, e.Want)
}
