// Package ship is the vocabulary of the house: ids, money, units, addresses,
// orders, statuses and the tables that say what may follow what. It holds pure
// data and rules; it does no I/O and keeps no state.
package ship
