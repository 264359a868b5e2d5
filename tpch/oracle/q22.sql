-- [let listed]
SELECT left(c_phone, 2) AS code, * FROM customer
WHERE left(c_phone, 2) IN ('13', '17', '18', '23', '29', '30', '31')

-- [let solvent]
SELECT c_acctbal, row_id FROM listed WHERE c_acctbal > 0

-- [let chosen]
SELECT * FROM listed
WHERE c_acctbal > (SELECT mean_of_cents(sum(c_acctbal), count(c_acctbal)) FROM solvent)
  AND NOT EXISTS (FROM orders WHERE o_custkey = c_custkey)

-- [output]
SELECT code, count(*), sum(c_acctbal) FROM chosen GROUP BY code

-- [pairs]
SELECT output.*, chosen.row_id AS customer_1 FROM output JOIN chosen USING (code)

-- [pairs] every row of the average
SELECT output.*, solvent.row_id AS customer_2 FROM output CROSS JOIN solvent

-- [none orders_1] NOT EXISTS
