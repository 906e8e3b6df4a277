package lock

import "os"

// removeAndClose closes a locked file and removes it. Windows removes no open
// file; if another process has it by now, it stays.
func removeAndClose(f *os.File) error {
	err := f.Close()
	_ = os.Remove(f.Name())
	return err
}
