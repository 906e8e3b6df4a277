package layout

import "testing"

// TestCarMakes: a make is a word, or two.
func TestCarMakes(t *testing.T) {
	for class, want := range map[string]string{
		"AM General Hummer SUV 2000": "AM General", "Acura RL Sedan 2012": "Acura",
		"Aston Martin V8 Vantage Coupe 2012": "Aston Martin", "Land Rover LR2 SUV 2012": "Land Rover",
		"Mercedes-Benz 300-Class Convertible 1993": "Mercedes-Benz", "smart fortwo Convertible 2012": "smart",
		"Ram C/V Cargo Van Minivan 2012": "Ram", " 7": "7", "": "",
	} {
		if got := carMake(class); got != want {
			t.Errorf("%q: %q, want %q", class, got, want)
		}
	}
}
