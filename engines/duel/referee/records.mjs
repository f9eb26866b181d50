// Rows on their way to Arrow: tables of 32-bit integers, row after row in one growing buffer.

export class Rows {
  constructor(width) {
    this.width = width;
    this.count = 0;
    this.data = new Int32Array(1024 * width);
  }

  // Where the next row starts in `data`; the caller fills `width` numbers from there.
  next() {
    const start = this.count * this.width;
    if (start === this.data.length) {
      const larger = new Int32Array(2 * this.data.length);
      larger.set(this.data);
      this.data = larger;
    }
    this.count++;
    return start;
  }

  add(...values) {
    if (values.length !== this.width) throw new Error(`a row of ${values.length} numbers, not ${this.width}`);
    const start = this.next(); // which may replace the buffer
    this.data.set(values, start);
  }

  // The rows so far as bytes that hold until the next row is added; the table is empty afterwards.
  take() {
    const bytes = Buffer.from(this.data.buffer, 0, 4 * this.count * this.width);
    this.count = 0;
    return bytes;
  }
}
