package atomic

// SyncFolder does nothing: Windows syncs no folders.
func SyncFolder(string) error { return nil }
