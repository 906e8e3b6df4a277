package cli

// ResumableError is the error of an interrupted command that can go on.
type ResumableError struct {
	Err     error
	Where   string // the command was when it was interrupted
	Command string // command that goes on
	End     string // command that ends it with the best weights so far; "" without one
}

func (r ResumableError) Error() string { return r.Err.Error() }
func (r ResumableError) Unwrap() error { return r.Err }
