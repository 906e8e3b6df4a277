//go:build (!amd64 && !arm64) || noasm

package dot8

type stripFunc = func(c []int32, a []int8, bias []int32, b []uint8, steps, panels int)

func fast(map[string]stripFunc) {}
