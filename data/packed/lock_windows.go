package packed

import "os"

// lock has nothing to do: Windows does not remove a file that is open.
func lock(*os.File) error { return nil }

func removeAbandoned(path string) { os.Remove(path) }
