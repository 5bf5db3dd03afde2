/** Arrays of numbers that grow, for accounts of millions of messages. An absent number is 0. */

export class GrowingBytes {
  #bytes = new Uint8Array(1_024)

  get(index: number): number {
    return this.#bytes[index] ?? 0
  }

  /** Keeps a number from 0 to 255. */
  set(index: number, value: number): void {
    if (index >= this.#bytes.length) {
      const larger = new Uint8Array(Math.max(index + 1, 2 * this.#bytes.length))
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    this.#bytes[index] = value
  }
}

export class GrowingNumbers {
  #numbers = new Float64Array(1_024)

  get(index: number): number {
    return this.#numbers[index] ?? 0
  }

  set(index: number, value: number): void {
    if (index >= this.#numbers.length) {
      const larger = new Float64Array(Math.max(index + 1, 2 * this.#numbers.length))
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[index] = value
  }
}
