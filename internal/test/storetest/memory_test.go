package storetest

import "testing"

func TestMemory(t *testing.T) { Check(t, &Memory{Dim: 2}) }
