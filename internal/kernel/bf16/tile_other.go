//go:build !amd64 || noasm

package bf16

func tileMatrix(t *Tile) { t.runGeneric() }

func tileVector(t *Tile) { t.runGeneric() }

func round(*uint16, *float32, int) { panic(noVector) }

func roundSteps(*uint16, int, *float32, int, int, int) { panic(noVector) }

func copySteps(*uint16, int, *uint16, int, int, int) { panic(noVector) }

func pairHalves(*uint32, int, *uint16, *uint16, int) { panic(noVector) }

func widen(*float32, *uint16, int) { panic(noVector) }

func pairs(*uint32, int, *float32, *float32, int) { panic(noVector) }

const noVector = "bf16: no vector unit"
